import { lazy } from 'react'
import { PAGES } from './pages.ts'

/** The areas as components that are loaded when they are first shown. */
export const AREAS = PAGES.map(({ path, load }) => ({ path, Area: lazy(load) }))
