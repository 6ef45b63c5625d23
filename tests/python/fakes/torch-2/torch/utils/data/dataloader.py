class _BaseDataLoaderIter:
    def __init__(self, batches):
        self._batches = iter(batches)

    def __iter__(self):
        return self

    def __next__(self):
        batch = self._next_data()
        if isinstance(batch, BaseException):
            raise batch
        return batch


class _SingleProcessDataLoaderIter(_BaseDataLoaderIter):
    def _next_data(self):
        return next(self._batches)


class _MultiProcessingDataLoaderIter(_BaseDataLoaderIter):
    def _next_data(self):
        return next(self._batches)
