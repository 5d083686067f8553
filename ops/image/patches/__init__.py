"""Images for models that read them in patches, such as vision-language models."""
