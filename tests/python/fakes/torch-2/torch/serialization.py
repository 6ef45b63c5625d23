def save(what, where):
    where.append(what)
