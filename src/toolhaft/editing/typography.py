"""Signs that look alike: the quotes, dashes and blanks that editors and models put for those on the keyboard.

One sign always stands for one sign, so a position in the plain text is the same position in the text itself.
"""

__all__ = ["plain"]

_LIKE = {
    "'": "\u2018\u2019\u201a\u201b\u2032\u02bc",
    '"': "\u201c\u201d\u201e\u201f\u2033\u00ab\u00bb",
    "-": "\u2010\u2011\u2012\u2013\u2014\u2015\u2212",
    " ": "\u00a0\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000",
}


def plain(text: str) -> str:
    """`text` with every such sign replaced by the one on the keyboard; as long as before.

    >>> plain("say “hi” – now")
    'say "hi" - now'
    """
    if text.isascii():
        return text
    for sign, others in _LIKE.items():
        for other in others:
            text = text.replace(other, sign)
    return text
