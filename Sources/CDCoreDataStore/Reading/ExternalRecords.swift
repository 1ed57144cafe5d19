#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// Reads the values of attributes that may be stored in files. The first byte of a value tells where it is stored.
///
/// After 1 comes the value itself. After 2 comes the name of a file in `.NAME_SUPPORT/_EXTERNAL_DATA` beside the store.
/// NAME is the name of the store without its extension.
struct ExternalRecords {
  private let folder: URL

  init(store path: String) { folder = Self.folder(ofStore: path) }

  /// The folder with the files of a store.
  ///
  /// - Parameter path: The path of the store's file. No symbolic link leads to it.
  static func folder(ofStore path: String) -> URL {
    let store = URL(filePath: path)
    return store.deletingLastPathComponent()
      .appending(path: ".\(store.deletingPathExtension().lastPathComponent)_SUPPORT/_EXTERNAL_DATA")
  }

  struct Problem: Error {
    let reason: String
  }

  func value(_ record: Data) -> Result<Data, Problem> {
    guard let mark = record.first else { return .success(Data()) }
    switch mark {
    case 1: return .success(Data(record.dropFirst()))
    case 2: return file(record.dropFirst())
    default:
      return .failure(
        Problem(reason: "its first byte marks neither a value in the row nor a value in a file"))
    }
  }

  private func file(_ name: Data) -> Result<Data, Problem> {
    // The name ends with a zero byte. A name that is not a UUID could lead to any file.
    let text = String(validating: name.prefix { $0 != 0 }, as: UTF8.self)
    guard let text, UUID(uuidString: text) != nil else {
      return .failure(Problem(reason: "it contains an invalid file name"))
    }
    let url = folder.appending(path: text)
    var status = stat()
    guard lstat(url.path(percentEncoded: false), &status) == 0 else {
      return .failure(Problem(reason: "its file \(text) is not in the folder of the store's external data"))
    }
    guard status.st_mode & S_IFMT == S_IFREG, let data = try? Data(contentsOf: url, options: .mappedIfSafe)
    else { return .failure(Problem(reason: "its file \(text) cannot be read")) }
    return .success(data)
  }
}
