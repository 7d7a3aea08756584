import { afterAll } from 'vitest'
import { cleanUpAfterFile } from './databases.ts'

// The set-up file runs for every test file. Without isolation, a process loads the modules that it imports only once.
afterAll(cleanUpAfterFile)
