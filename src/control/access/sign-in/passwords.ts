import { hash, verify } from '@node-rs/argon2'

/** argon2id as OWASP's password storage guide has it: 19 MiB, 2 passes, 1 lane. It runs off the event loop. */
const COST = { memoryCost: 19_456, timeCost: 2, parallelism: 1 }

/** Checked in place of an account's that does not exist, so that the answer takes as long. */
let nobody: Promise<string> | null = null

export const hashPassword = (password: string): Promise<string> => hash(password.normalize('NFKC'), COST)

/** Whether the password is the one of `hashed`; with null the answer is no, after the same time. */
export const isPassword = async (password: string, hashed: string | null): Promise<boolean> =>
  (await verify(hashed ?? (await (nobody ??= hash('nobody', COST))), password.normalize('NFKC'))) && hashed !== null
