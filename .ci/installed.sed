# Changes the paths of the source tree in the texts of the labs to those of an
# installed copy. The Makefile fills in @LABS@ and @INCLUDE@.
s|-I lib/include|$(pkg-config --cflags gradwire)|g
s|-L build -lgradwire|$(pkg-config --libs gradwire)|g
s|-L build|$(pkg-config --libs-only-L gradwire)|g
s| *-Wl,-rpath,"$PWD/build"||g
s| *-Wl,-rpath,build||g
s|lib/include/gradwire|@INCLUDE@/gradwire|g
s|man -l man/\([a-z-]*\)\.\([1-7]\)|man \2 \1|g
s|man -l$|man|
s|^\( *\)man/\([a-z-]*\)\.\([1-7]\)|\1\3 \2|
s|man/\([a-z-]*\)\.\([1-7]\)|\1(\2)|g
s#\(\.\./\.\./\)\{0,1\}build/\(collrun\|gradwire-mpirun\|pipebench\|psnode\|ringctl\|ringtop\)#\2#g
s#\(^\|[^a-z/.]\)labs/\([0-9a-z]\)#\1@LABS@/\2#g
s|gradwire built (`make`)|gradwire installed|
s|编译好的 gradwire（`make`）|安装好的 gradwire|
s|gradwire built: `make` in the checkout. Type all commands there.|gradwire installed. Type all commands in one folder of yours.|
s|编译好的 gradwire：在源码目录里执行 `make`。所有命令都在那里输入。|安装好的 gradwire。所有命令都在你自己的同一个文件夹里输入。|
s|You need only the checkout after `make`|You need only the installed packages|
s|在源码目录里 `make` 之后就可以开始|安装软件包之后就可以开始|
s|in the source tree after `make`|where gradwire is installed|
/^\$ export PYTHONPATH=\$PWD/d
s|, and `PYTHONPATH=lib/python`||
s|gradwire built, with its backend: `make` and `make torch`|gradwire installed, and its backend, of `make torch` in its sources|
s|编译好的 gradwire 和它的后端：`make` 和 `make torch`|安装好的 gradwire，和它的后端：在源码里 `make torch`|
