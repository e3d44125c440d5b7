"""The settings, by what they are about; `bearinmind.config` reads them and puts them together."""
