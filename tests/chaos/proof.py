def record(x): print(x)
