import { afterAll } from 'vitest'
import { cleanUpAfterFile } from './databases.ts'

// A set-up file runs in every test file; the modules that it imports, in a process without isolation, only once.
afterAll(cleanUpAfterFile)
