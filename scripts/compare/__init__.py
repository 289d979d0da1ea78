"""Compare this release with release 0.1.12 on a generated corpus, and explain every difference by an entry."""
