"""The one error of the composition root: a start that cannot happen."""


class StartRefused(Exception):
    """A start that cannot happen; the text is one sentence for the person at the terminal.

    The sentence names what is wrong and the way out, usually the variable to set.
    Launchers print it on stderr and exit with a code other than zero, without a traceback.
    """
