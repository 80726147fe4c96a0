"""Writes the archives of this folder with SciPy and NumPy; the test beside it knows what is in them."""

import io
import zipfile

import numpy as np
import scipy.sparse as sp

a = np.array([[1.5, 0, 0, -2], [0, 0, 3, 0], [0, 0, 0, 0], [4, 0, 5, 6]])

sp.save_npz("csr.npz", sp.csr_array(a))
sp.save_npz("csr_stored.npz", sp.csr_matrix(a), compressed=False)
sp.save_npz("csc.npz", sp.csc_array(a.astype(np.float32)))
sp.save_npz("coo.npz", sp.coo_array(a + 1j * np.tril(a)))
sp.save_npz("dia.npz", sp.dia_array(a), compressed=False)
sp.save_npz("bsr.npz", sp.bsr_array(a, blocksize=(2, 2)))
sp.save_npz("ints.npz", sp.csr_array(a.astype(np.int64)))
sp.save_npz("bools.npz", sp.csc_array(a != 0))

duplicates = sp.coo_array(([1.0, 2.0, 4.0], ([1, 0, 1], [2, 3, 2])), shape=(2, 4))
sp.save_npz("duplicates.npz", duplicates)

wide = sp.csr_array(a)
wide.indices = wide.indices.astype(np.int64)
wide.indptr = wide.indptr.astype(np.int64)
wide.data = wide.data.astype(">f8")
np.savez(
    "wide.npz",
    indices=wide.indices.astype(">i8"),
    indptr=wide.indptr,
    format=np.array("csr"),  # UTF-32, as in files of SciPy before 1.0
    shape=wide.shape,
    data=wide.data,
)

# The elements column by column.
dia = sp.dia_array(a)
np.savez_compressed(
    "dia_by_columns.npz",
    offsets=dia.offsets, format=b"dia", shape=dia.shape, data=np.asfortranarray(dia.data),
)
