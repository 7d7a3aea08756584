import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import './tokens.css'
import './base.css'
import { preloadSession } from './api/session.ts'
import { App } from './app.tsx'
import { loadOthers, preloadArea } from './pages/areas.ts'

// What the first view needs is asked for side by side; what fails is asked for again where it is shown.
const session = preloadSession()
await Promise.allSettled([session, preloadArea(window.location.pathname, session)])

createRoot(document.getElementById('root')!).render(
  <StrictMode>
    <App />
  </StrictMode>,
)

await loadOthers()
