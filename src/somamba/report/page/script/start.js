// Bring the page to life.

for (const root of document.querySelectorAll(".viewer")) new Viewer(root);
