"""The store behind `cache`: results by key, on disk or in memory. It knows nothing of graphs.

    store = open_store("DIR", capacity=None)            # or "ram"; ops/cache/opening.py
    entries = store.find(keys)                           # a list of Entry or None
    store.put(key, array, "HWC", seconds=0.004)          # or put_many, for a batch
    store.put_failure(key, {"message": "..."})           # a sample that is damaged
    store.read(entry, out)                               # False: damaged or gone, compute it
    read_several(store, entries, rows)                   # ops/cache/read_several.py: what a fused
                                                         # group or `Decode` runs; None: use `read`
    store.statistics()

A key has 16 bytes and is a digest. An `Entry` has dtype, layout, shape, failure and seconds.
Nothing of this raises for what is wrong with a disk: it warns once and counts, and the caller
computes what it does not find.
"""
