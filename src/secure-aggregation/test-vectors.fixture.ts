import answers from './fixtures/test-vectors.json' with { type: 'json' }

/** Computed in Python with libsodium and OpenSSL, from the protocol's description rather than from this code. */
export interface TestVectors {
  readonly roundId: string
  readonly settings: {
    readonly devices: number
    readonly threshold: number
    readonly range: number
    readonly maxWeight: number
  }
  readonly devices: Readonly<
    Record<
      string,
      {
        readonly secrets: { readonly encryption: string; readonly masking: string; readonly seed: string }
        readonly keys: { readonly encryptionKey: string; readonly maskingKey: string }
        readonly commitment: string
        readonly selfMask: string
        readonly input: {
          readonly numSamples: number
          readonly delta: readonly number[]
          readonly loss: number | null
          readonly accuracy: number | null
          readonly words: readonly number[]
        }
        readonly masked: readonly number[]
      }
    >
  >
  readonly pairMasks: Readonly<Record<string, string>>
  readonly sealed: Readonly<Record<'from' | 'to' | 'key' | 'nonce' | 'maskingKey' | 'selfMask' | 'bytes', string>>
  readonly shamir: { readonly secret: string; readonly shares: readonly string[] }
  readonly sum: readonly number[]
  readonly sumWithoutU: readonly number[]
}

export const testVectors: TestVectors = answers
