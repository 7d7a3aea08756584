import { Component, type ReactNode } from 'react'
import { Problem } from '../parts/layout.tsx'

/** Keeps a fault of one page to that page. A chunk that is gone (the service was updated) is there after a reload. */
export class Boundary extends Component<{ readonly children: ReactNode }, { readonly error: Error | null }> {
  override state: { readonly error: Error | null } = { error: null }

  static getDerivedStateFromError(error: unknown): { readonly error: Error } {
    return { error: error instanceof Error ? error : new Error(String(error)) }
  }

  override render(): ReactNode {
    if (this.state.error === null) return this.props.children
    return <Problem error={this.state.error} retry={() => window.location.reload()} />
  }
}
