import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import './tokens.css'
import './base.css'
import { preloadSession } from './api/session.ts'
import { App } from './app.tsx'
import { preloadArea } from './pages/areas.ts'
import { keepScrollPlaces } from './url/scroll-place.ts'

// Fetches the data for the first view in parallel. Failed requests are repeated by the components that need them.
const session = preloadSession()
await Promise.allSettled([session, preloadArea(window.location.pathname, session)])

keepScrollPlaces()
createRoot(document.getElementById('root')!).render(
  <StrictMode>
    <App />
  </StrictMode>,
)
