import type { ComponentType } from 'react'
import type { Scope } from '../../domain/access.ts'

export interface LoadedPage {
  readonly Area: ComponentType
  /** Prefetches the page's first data, so that it is rendered once. */
  readonly preload?: (may: (scope: Scope) => boolean) => void
}

/** An area of the dashboard: a navigation entry, and a chunk loaded when it is visited. */
export interface PageEntry {
  readonly name: string
  /** The area's pages are at and below this path, and its routes include it; `/` matches only itself. */
  readonly path: string
  /** `g` followed by this key opens it. */
  readonly key: string
  readonly load: () => Promise<LoadedPage>
}
