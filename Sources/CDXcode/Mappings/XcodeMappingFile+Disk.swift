extension XcodeMappingFile {
  /// The mapping models in a folder and those within it, each once.
  ///
  /// Links are followed, but not to where one has been, nor out of the folder to one that holds it.
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
      // What starts with a point, such as .build and .git, holds no sources.
      let names = XcodeBundle.names(in: folder).filter {
        !$0.hasPrefix(".") && !$0.hasSuffix(".xcdatamodeld")
      }
      pending += names.reversed().map { folder + "/" + $0 }.filter { XcodeBundle.isFolder($0) }
    }
    return result
  }
}
