/** What of the service whoever is signed in may read; the rest is not asked for. */
export interface Seen {
  readonly training: boolean
  readonly models: boolean
}
