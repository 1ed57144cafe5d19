import CDSchema
import Foundation

/// The reason why a bundle cannot be read.
public struct XcodeBundleError: Error, Hashable, CustomStringConvertible {
  /// The path of the file or folder with the problem.
  public var path: String
  /// The problem and its remedy.
  public var message: String

  /// The error as compilers write it: `path: error: message`.
  public var description: String { "\(path): error: \(message)" }
}

extension XcodeBundle {
  /// Reads the files of an `.xcdatamodeld` or `.xcdatamodel`. Their contents are not parsed.
  public init(contentsOf path: String) throws(XcodeBundleError) {
    var path = path
    while path.count > 1, path.hasSuffix("/") { path.removeLast() }
    let name = path.split(separator: "/").last.map(String.init) ?? path
    guard Self.isFolder(path) else {
      throw XcodeBundleError(
        path: path,
        message: FileManager.default.fileExists(atPath: path)
          ? "this is a file; a model of Xcode is a folder NAME.xcdatamodeld" : "there is no such folder")
    }
    if name.hasSuffix(".xcdatamodel") {
      let stem = String(name.dropLast(".xcdatamodel".count))
      let file = path + "/contents"
      if !FileManager.default.fileExists(atPath: file),
        FileManager.default.fileExists(atPath: path + "/elements")
      {
        self.init(name: stem, path: path, versions: [], binaryNames: [stem])
      } else {
        let version = Version(name: stem, path: file, contents: try Self.bytes(file))
        self.init(name: stem, path: path, versions: [version], currentName: stem)
      }
      return
    }
    guard name.hasSuffix(".xcdatamodeld") else {
      throw XcodeBundleError(
        path: path,
        message: "a model of Xcode is a folder NAME.xcdatamodeld or NAME.xcdatamodel, and this is '\(name)'")
    }
    var versions: [Version] = []
    var binary: [String] = []
    var empty: [String] = []
    for entry in Self.names(in: path)
    where entry.hasSuffix(".xcdatamodel") && Self.isFolder(path + "/" + entry) {
      let stem = String(entry.dropLast(".xcdatamodel".count))
      let file = "\(path)/\(entry)/contents"
      if FileManager.default.fileExists(atPath: file) {
        versions.append(Version(name: stem, path: file, contents: try Self.bytes(file)))
      } else if FileManager.default.fileExists(atPath: "\(path)/\(entry)/elements") {
        binary.append(stem)
      } else {
        empty.append(stem)
      }
    }
    if versions.isEmpty, binary.isEmpty, let name = empty.first {
      throw XcodeBundleError(
        path: "\(path)/\(name).xcdatamodel", message: "the version has no file 'contents'")
    }
    guard !versions.isEmpty || !binary.isEmpty else {
      throw XcodeBundleError(path: path, message: "there is no version in it: no folder named *.xcdatamodel")
    }
    self.init(
      name: String(name.dropLast(".xcdatamodeld".count)), path: path, versions: versions,
      currentName: try Self.currentName(path + "/.xccurrentversion"), binaryNames: binary, emptyNames: empty)
  }

  /// The version named in the file `.xccurrentversion`. Nil if there is no such file or it names no version, as for a
  /// model with only one version.
  private static func currentName(_ path: String) throws(XcodeBundleError) -> String? {
    guard FileManager.default.fileExists(atPath: path) else { return nil }
    let bytes = try bytes(path)
    do { return try CurrentVersionFile.name(in: bytes) } catch {
      throw XcodeBundleError(
        path: path,
        message:
          "this is not a property list, so the current version is unknown: \(error.message). Choose it in "
          + "Xcode's file inspector, which writes the file again")
    }
  }

  /// Reads a file's bytes. A file beyond the size limit is not opened.
  static func bytes(_ path: String) throws(XcodeBundleError) -> [UInt8] {
    do {
      let target = resolved(path)
      let attributes = try FileManager.default.attributesOfItem(atPath: target)
      guard attributes[.type] as? FileAttributeType == .typeRegular else {
        throw XcodeBundleError(path: path, message: "this is not a regular file")
      }
      if let size = attributes[.size] as? UInt64, size > UInt64(MarkupLimits.size) {
        throw XcodeBundleError(
          path: path, message: "the file has \(size) bytes, and at most \(MarkupLimits.size) are read")
      }
      return [UInt8](try Data(contentsOf: ModelLoader.url(target)))
    } catch let error as XcodeBundleError {
      throw error
    } catch {
      throw XcodeBundleError(path: path, message: "the file cannot be read")
    }
  }

  /// The path with symbolic links resolved.
  static func resolved(_ path: String) -> String { ModelLoader.url(path).resolvingSymlinksInPath().path }

  static func isFolder(_ path: String) -> Bool {
    let attributes = try? FileManager.default.attributesOfItem(atPath: resolved(path))
    return attributes?[.type] as? FileAttributeType == .typeDirectory
  }

  static func names(in path: String) -> [String] {
    ((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []).sorted()
  }
}

/// The file `.xccurrentversion`, a property list with one name.
enum CurrentVersionFile {
  /// The current version's name without its extension; nil if the file does not contain one.
  static func name(in bytes: [UInt8]) throws(MarkupError) -> String? {
    let root = try MarkupReader.read(bytes)
    guard root.name == "plist", let values = root.children("dict").first?.children else {
      throw MarkupError(message: "it has no dictionary", line: root.line, column: root.column)
    }
    for (key, value) in zip(values, values.dropFirst())
    where key.name == "key" && key.text == "_XCCurrentVersionName" && value.name == "string" {
      let suffix = ".xcdatamodel"
      return value.text.hasSuffix(suffix) ? String(value.text.dropLast(suffix.count)) : value.text
    }
    return nil
  }

  static func text(name: String) -> String {
    let key = MarkupElement("key")
    let value = MarkupElement("string")
    func filled(_ element: MarkupElement, _ text: String) -> MarkupElement {
      var element = element
      element.text = text
      return element
    }
    let dict = MarkupElement(
      "dict", children: [filled(key, "_XCCurrentVersionName"), filled(value, name + ".xcdatamodel")])
    let plist = MarkupElement("plist", [("version", "1.0")], children: [dict])
    return """
      <?xml version="1.0" encoding="UTF-8"?>
      <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">

      """ + MarkupText.element(plist) + "\n"
  }
}
