// Runs before the first paint, so that a chosen theme does not flash.
{
  let theme = null;
  try { theme = localStorage.getItem("holdfast-theme"); } catch { /* not allowed: as the system has it */ }
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
}
