"""Random values: two libraries draw others, but of the same kind."""
import numpy as np
import nvidia.dali.experimental.dynamic as ndd

results = []
ndd.random.set_seed(42)


def look(value):
    for tensor in value if isinstance(value, ndd.Batch) else [value]:
        array = np.asarray(tensor)
        results.append(np.zeros_like(array))


rng = ndd.random.RNG(1234)
look(ndd.random.uniform(rng=rng))
look(ndd.random.uniform(range=(-10, 10), shape=(2, 3), rng=rng))
look(ndd.random.uniform(values=[1.0, 2.0, 3.0], batch_size=5))
look(ndd.random.uniform(shape=[4], batch_size=2))
look(ndd.random.normal(mean=3, stddev=0.5, batch_size=3, rng=rng))
look(ndd.random.coin_flip(probability=0.7, batch_size=4))
look(ndd.random.beta(alpha=2.0, beta=5.0, shape=(3,)))
look(ndd.random.choice(6, shape=(2, 2), batch_size=2))
look(ndd.random.choice(ndd.as_tensor(np.array([10, 20, 30], np.int32)), batch_size=2))
look(ndd.random.uniform(range=ndd.as_batch([[0.0, 1.0], [5.0, 6.0]], dtype=ndd.float32)))

# what users rely on
first = np.asarray(ndd.random.uniform(shape=1000, rng=ndd.random.RNG(7)))
second = np.asarray(ndd.random.uniform(shape=1000, rng=ndd.random.RNG(7)))
results.append(np.array_equal(first, second))
results.append(round(float(first.mean()), 0))
results.append(bool(-1 <= first.min() and first.max() < 1))

state = rng.get_state()
twin = rng.clone()
a = np.asarray(ndd.random.normal(shape=8, rng=rng))
b = np.asarray(ndd.random.normal(shape=8, rng=twin))
rng.set_state(state)
c = np.asarray(ndd.random.normal(shape=8, rng=rng))
results += [np.array_equal(a, b), np.array_equal(a, c)]
results.append(not np.array_equal(a, np.asarray(ndd.random.normal(shape=8, rng=rng))))

ndd.random.set_seed(5)
x = np.asarray(ndd.random.uniform(shape=8))
ndd.random.set_seed(5)
results.append(np.array_equal(x, np.asarray(ndd.random.uniform(shape=8))))
results.append(ndd.random.get_default_rng() is ndd.random.get_default_rng())
zeros = ndd.as_batch([np.float32(0), np.float32(1)])
results.append(np.array([t.item() for t in ndd.random.coin_flip(probability=zeros)]))
try:
    rng.advance(-1)
except ValueError:
    results.append(1)
rng.advance(np.int64(3))
