// Saves the picture of the first violation as PNG, which more places show than SVG; without a script the link saves SVG.

function savePicture(link) {
  const picture = new Image();
  picture.onload = () => {
    const canvas = document.createElement('canvas');
    canvas.width = 1200;
    canvas.height = 630;
    context(canvas).drawImage(picture, 0, 0, canvas.width, canvas.height);
    canvas.toBlob((blob) => {
      if (!blob) return;
      const file = document.createElement('a');
      file.href = URL.createObjectURL(blob);
      file.download = link.download.replace(/\.card\.svg$/, '.png');
      file.click();
      setTimeout(() => URL.revokeObjectURL(file.href), 1000);
    }, 'image/png');
  };
  picture.src = link.href;
}
