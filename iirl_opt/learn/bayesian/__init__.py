"""Bayesian interactive IRL (paper, Section 5.1 and Appendix D): posterior, samplers, learner."""
