import type { Speculation } from '../../engine.ts'

/**
 * Guesses how a text goes on. The full model checks all guesses in one batch and keeps those that it would have said itself,
 * so a proposer may be wrong, and costs only time then.
 */
export interface Proposer {
  readonly kind: Speculation['kind']
  /**
   * At most `max` tokens that may follow `tokens`, the whole text so far; none where it has no guess. `slot` is the same for
   * one text from its first to its last call; a new text in the same slot may begin without notice.
   */
  propose(slot: number, tokens: readonly number[], max: number): readonly number[] | Promise<readonly number[]>
  close(): Promise<void>
}
