/** What one device, or one of its updates, says; only where it says something of every variable. */
export interface Reading {
  readonly device: number
  readonly groupId: string
  readonly values: readonly unknown[]
}
