"""Learning an unknown reward from a partner's responses."""
