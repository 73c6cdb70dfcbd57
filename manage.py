"""Run a management command; a refused start ends as one sentence on stderr, without a traceback."""

import os
import sys

from crewlet_site.errors import StartRefused

PROCESSES = frozenset({"node", "web", "worker", "beat"})


def main() -> int:
    """Hand the arguments to Django."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "crewlet_site.settings")
    if len(sys.argv) > 1 and sys.argv[1] in PROCESSES:
        # Also when started by hand: the process's name is in its owner string and its socket.
        os.environ.setdefault("CREWLET_PROCESS", sys.argv[1])
    from django.core.management import execute_from_command_line

    try:
        execute_from_command_line(sys.argv)
    except StartRefused as refusal:
        sys.stderr.write(f"{refusal}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
