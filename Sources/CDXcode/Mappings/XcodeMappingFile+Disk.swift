extension XcodeMappingFile {
  /// Finds the mapping models in a folder and its subfolders, each once.
  ///
  /// Symbolic links are followed, except to a folder that was already visited and to a folder that contains the
  /// starting folder.
  public static func files(under path: String) throws(XcodeBundleError) -> [XcodeMappingFile] {
    guard XcodeBundle.isFolder(path) else {
      throw XcodeBundleError(path: path, message: "there is no such folder")
    }
    let root = XcodeBundle.resolved(path)
    var result: [XcodeMappingFile] = []
    var seen: Set<String> = []
    var pending = [path]
    while let folder = pending.popLast() {
      let target = XcodeBundle.resolved(folder)
      if target != root, (root + "/").hasPrefix(target == "/" ? target : target + "/") { continue }
      guard seen.insert(target).inserted else { continue }
      let file = folder + "/xcmapping.xml"
      if folder.hasSuffix(".xcmappingmodel") {
        result.append(XcodeMappingFile(path: file, contents: try XcodeBundle.bytes(file)))
        continue
      }
      // Folders whose names start with a point, such as .build and .git, contain no sources.
      let names = XcodeBundle.names(in: folder).filter {
        !$0.hasPrefix(".") && !$0.hasSuffix(".xcdatamodeld")
      }
      pending += names.reversed().map { folder + "/" + $0 }.filter { XcodeBundle.isFolder($0) }
    }
    return result
  }
}
