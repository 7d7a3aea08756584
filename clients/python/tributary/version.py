# Generated from package.json by `npm run gen`. Do not edit.
VERSION = "1.0.0"
