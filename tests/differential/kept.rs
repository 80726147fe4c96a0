//! Programs that failed once, each with its story.
