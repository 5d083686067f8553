"""A data set for PyTorch whose spawned workers use types of the library."""

import torch

import nvidia.dali.types as types
from nvidia.dali.plugin.base_iterator import LastBatchPolicy


class Numbers(torch.utils.data.Dataset):
    policy = LastBatchPolicy.DROP

    def __len__(self):
        return 4

    def __getitem__(self, index):
        import nvidia.dali.fn as fn

        known = types.to_numpy_type(types.FLOAT).__name__ == "float32" and hasattr(fn, "resize")
        return index * 10 if known and self.policy is LastBatchPolicy.DROP else -1


if __name__ == "__main__":
    loader = torch.utils.data.DataLoader(
        Numbers(), batch_size=2, num_workers=1, multiprocessing_context="spawn"
    )
    print([batch.tolist() for batch in loader])
