"""Run a management command; a refused start ends as one sentence on stderr, without a traceback."""

import errno
import os
import sys

from crewlet_site.errors import StartRefused

FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
PROCESSES = frozenset({"node", "web", "worker", "beat"})


def main() -> int:
    """Hand the arguments to Django."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "crewlet_site.settings")
    if len(sys.argv) > 1 and sys.argv[1] in PROCESSES:
        # Also when started by hand: the process's name is in its owner string and its socket.
        os.environ.setdefault("CREWLET_PROCESS", sys.argv[1])
    from django.core.management import execute_from_command_line

    try:
        # People type ./crewlet, so usage and help call it that.
        execute_from_command_line(["crewlet", *sys.argv[1:]])
        sys.stdout.flush()
    except StartRefused as refusal:
        sys.stderr.write(f"{refusal}\n")
        return 1
    except BrokenPipeError:
        # Whoever read, such as `head`, has seen enough; nothing may be flushed at the end either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        if error.errno not in FULL:
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.stderr.write(f"Nothing more can be written: {error.strerror}.\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
