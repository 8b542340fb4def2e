"""Adapters, each driven by a scripted agent of its library."""
