"""The iterators of JAX, TensorFlow, Paddle and MXNet, each where its framework is installed."""
