from .algorithm_4 import (
    BayesianInteractiveIRL as BayesianInteractiveIRL,
)
from .chains import (
    Chains as Chains,
    Diagnostics as Diagnostics,
    Ridge as Ridge,
)
from .evidence import (
    Evidence as Evidence,
)
from .families import (
    BoltzmannFamily as BoltzmannFamily,
    EpsilonGreedyFamily as EpsilonGreedyFamily,
    FollowerFamily as FollowerFamily,
    SoftOptimalFamily as SoftOptimalFamily,
)
from .posterior import (
    Posterior as Posterior,
)
from .priors import (
    DirichletPrior as DirichletPrior,
    GammaPrior as GammaPrior,
    Known as Known,
    UniformPrior as UniformPrior,
    exponential_prior as exponential_prior,
)
from .proposals import (
    DirichletProposal as DirichletProposal,
    GammaProposal as GammaProposal,
    Hamiltonian as Hamiltonian,
    ReflectedStep as ReflectedStep,
    SimplexWalk as SimplexWalk,
)
from .sampler import (
    PosteriorSampler as PosteriorSampler,
    sample as sample,
    sampling as sampling,
)

__all__ = [
    "BayesianInteractiveIRL",
    "BoltzmannFamily",
    "Chains",
    "Diagnostics",
    "DirichletPrior",
    "DirichletProposal",
    "EpsilonGreedyFamily",
    "Evidence",
    "FollowerFamily",
    "GammaPrior",
    "GammaProposal",
    "Hamiltonian",
    "Known",
    "Posterior",
    "PosteriorSampler",
    "ReflectedStep",
    "Ridge",
    "SimplexWalk",
    "SoftOptimalFamily",
    "UniformPrior",
    "exponential_prior",
    "sample",
    "sampling",
]
