"""The settings, by what they are about; `recollect.config` reads them and puts them together."""
