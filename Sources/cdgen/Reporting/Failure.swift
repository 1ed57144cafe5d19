import ArgumentParser
import CDConsole

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// A failure without a line in a model's files, such as a file that cannot be written.
struct Failure: Error {
  /// The path of the file or folder; nil if there is none.
  private var path: String?
  private var message: String

  init(_ path: String? = nil, _ message: String) {
    self.path = path
    self.message = message
  }

  /// Creates a failure of an operation on a file, with the system's reason.
  init(_ path: String, _ action: String, _ error: any Error) {
    self.init(path, "\(action): \(Self.reason(error))")
  }

  private static func reason(_ error: any Error) -> String {
    let underlying = (error as? CocoaError)?.underlying
    if let code = (underlying as? POSIXError ?? error as? POSIXError)?.code {
      return String(cString: strerror(code.rawValue)).lowercasingFirst
    }
    guard let error = error as? CocoaError else { return String(describing: error) }
    return switch error.code {
    case .fileWriteFileExists: "there is a file of this name already"
    case .fileReadNoSuchFile, .fileNoSuchFile: "there is no such file or folder"
    case .fileReadNoPermission, .fileWriteNoPermission: "permission denied"
    case .fileWriteOutOfSpace: "no space left"
    default: "input or output failed (\(error.code.rawValue))"
    }
  }
}

extension Failure: CustomStringConvertible {
  /// The failure as compilers write it: `path: error: message`.
  var description: String { (path.map { "\($0): " } ?? "") + "error: \(message)" }
}

extension String {
  fileprivate var lowercasingFirst: String { prefix(1).lowercased() + dropFirst() }
}

/// Runs a command's work. A failure is printed in a compiler's form, and the exit status is then 1.
func reportingFailures<T>(_ work: () throws -> T) throws -> T {
  do {
    return try work()
  } catch let failure as Failure {
    Console.error(failure.description)
    throw ExitCode.failure
  } catch let failure as OutputFailure {
    Console.error("error: \(failure)")
    throw ExitCode.failure
  }
}
