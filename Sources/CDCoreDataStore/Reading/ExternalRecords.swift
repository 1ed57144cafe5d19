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

/// The values of attributes that may be stored in files: a byte before each says where it is.
///
/// 1 is followed by the value itself, and 2 by the name of a file in `.NAME_SUPPORT/_EXTERNAL_DATA` beside the store,
/// whose name without its extension is NAME.
struct ExternalRecords {
  private let folder: URL

  init(store path: String) {
    let store = URL(filePath: path)
    folder = store.deletingLastPathComponent()
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
    default: return .failure(Problem(reason: "its first byte says neither that it is here nor in a file"))
    }
  }

  private func file(_ name: Data) -> Result<Data, Problem> {
    // The name ends with a zero. One that is no UUID could lead anywhere.
    let text = String(validating: name.prefix { $0 != 0 }, as: UTF8.self)
    guard let text, UUID(uuidString: text) != nil else {
      return .failure(Problem(reason: "it names a file by what is no name of one"))
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
