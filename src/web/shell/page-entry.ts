import type { ComponentType } from 'react'
import type { Scope } from '../../domain/access.ts'

export interface LoadedPage {
  readonly Area: ComponentType
  /** Asks for what the page shows first, so that it is drawn once. */
  readonly preload?: (may: (scope: Scope) => boolean) => void
}

/** One area of the dashboard: a row of the navigation, and a chunk that is loaded when it is visited. */
export interface PageEntry {
  readonly name: string
  /** The area's pages are at and below this path, and their routes name it; `/` is only itself. */
  readonly path: string
  /** `g` and this key go there. */
  readonly key: string
  readonly load: () => Promise<LoadedPage>
}
