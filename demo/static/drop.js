/* Places to drop files on: a counter over enter and leave keeps the mark steady while the pointer crosses children. */
const carries = event => [...event.dataTransfer?.types ?? []].includes('Files');

/** Calls take(files, items) with what is dropped on `node`; items are DataTransferItems, still good for webkitGetAsEntry. */
export function dropZone(node, take) {
  let depth = 0;
  node.addEventListener('dragenter', event => { if (!carries(event)) return; event.preventDefault(); depth++; node.classList.add('over'); });
  node.addEventListener('dragover', event => { if (carries(event)) { event.preventDefault(); event.dataTransfer.dropEffect = 'copy'; } });
  node.addEventListener('dragleave', event => { if (carries(event) && --depth <= 0) { depth = 0; node.classList.remove('over'); } });
  node.addEventListener('drop', event => {
    if (!carries(event)) return;
    event.preventDefault(); event.stopPropagation();
    depth = 0;
    document.querySelectorAll('.over').forEach(one => one.classList.remove('over'));
    take([...event.dataTransfer.files], [...event.dataTransfer.items]);
  });
}
