/** The values that one device, or one of its updates, reports; exists only if none is missing. */
export interface Reading {
  readonly device: number
  readonly groupId: string
  readonly values: readonly unknown[]
}
