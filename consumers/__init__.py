"""The programs under test: one instrumented consumer, or the producer, per process.

They write what they do into a journal (`journal.py`) and take orders on standard input
(`control.py`); `history_rows.py` turns journals into rows of the history. Nothing here imports
pyarrow or anything else that would make a consumer process heavy.
"""
