"""Image processors of Hugging Face's transformers."""
