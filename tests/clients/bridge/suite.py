def run(*a): return True
