"""Suites that try an object of your own against what an interface of this library promises.

One call in a test of yours, ``check_follower(MyFollower())``, draws small games and tries promise
by promise. A failure says which promise broke and on which instance, the smallest that hypothesis
found. The suites are offered by `iirl_opt.testing`; what they share is in
`iirl_opt.testing.conformance.promises`.
"""
