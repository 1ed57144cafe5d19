#if os(Linux)
  import Foundation
  import Glibc

  /// Runs what is to meet the rights of files, also where the tests run as the superuser, who meets none.
  enum Unprivileged {
    /// Runs a body on a thread of its own, whose file access alone is that of a user with no rights: Linux keeps
    /// that by thread.
    static func run<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) throws -> Value {
      let box = Box<Value>()
      let thread = Thread {
        // "nobody". Who is no superuser stays who they are.
        _ = setFileUser?(65534)
        box.result = Result { try body() }
        box.done.signal()
      }
      thread.start()
      box.done.wait()
      guard let result = box.result else { throw CancellationError() }
      return try result.get()
    }

    /// Linux's setfsuid, which no module of Swift's declares.
    private static var setFileUser: (@convention(c) (UInt32) -> Int32)? {
      dlsym(nil, "setfsuid").map { unsafeBitCast($0, to: (@convention(c) (UInt32) -> Int32).self) }
    }

    /// Unchecked: the semaphore lets the caller look when the thread is done.
    private final class Box<Value: Sendable>: @unchecked Sendable {
      var result: Result<Value, any Error>?
      let done = DispatchSemaphore(value: 0)
    }
  }
#endif
