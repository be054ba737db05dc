"""The KDL that extractors are written in: text in, nodes with spans and every mistake out."""
