"""The families of model files, one file each: question, program, answer, quantities, report.

`iirl_opt.library.families.catalogue` lists them.
"""
